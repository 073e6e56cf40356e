"""What score will I get?"""
